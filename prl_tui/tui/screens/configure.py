"""Configure: choose a preset, change a field, see the verdict at once, read the exact command, launch or export."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widgets import Static

from prl_tui.i18n import t
from prl_tui.tui.cells import safe
from prl_tui.tui.screens import configure_words
from prl_tui.tui.screens.box_place import LOOK_AFTER, BoxPlace
from prl_tui.tui.screens.place import is_told, told
from prl_tui.tui.session import Session
from prl_tui.tui.widgets.preset_table import PresetTable
from prl_tui.tui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from prl_tui.core.findings import Fix
    from prl_tui.tui.widgets.field_help import FieldHelp
    from prl_tui.tui.widgets.finder import Finder
    from prl_tui.tui.widgets.form_row import Standing
    from prl_tui.tui.widgets.preview import Preview
    from prl_tui.tui.widgets.settings_form import SettingsForm
    from prl_tui.tui.widgets.verdict_view import VerdictView

FRAME_OUT = 0.001
"""Seconds that the thread which writes to the terminal gets: it would wait for a pause of what follows, 5 ms or more."""
VIEWS = ("-presets", "-preview", "-full-verdict")
"""Classes that show one pane alone where there is little room."""


class ConfigureScreen(BoxPlace):
    """The first place."""

    PARTS = ("#presets", "#settings", "#verdict", "#preview")

    AUTO_FOCUS = ""  # the form gets it once it is there
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fix", t("fix"), tooltip=t("Apply the first way out")),
        told("f", "fix"),
        Binding("l", "launch", t("launch"), tooltip=t("Start the run on this box")),
        Binding("e", "export", t("export"), tooltip=t("Write a script or TOML file")),
        Binding("s", "save_preset", t("save"), tooltip=t("Keep these values as a preset of your own")),
        Binding("p", "presets", t("presets")),
        Binding("v", "preview", t("preview"), tooltip=t("The exact command, bash and TOML")),
        Binding("right_square_bracket", "turn(1)", show=False),
        Binding("left_square_bracket", "turn(-1)", show=False),
        Binding("slash", "find", t("find"), tooltip=t("Find a setting")),
        Binding("t", "probe", t("try the environment"), show=False, tooltip=t("Import the trainer, read the command")),
        Binding("T", "smoke", t("smoke test"), show=False, tooltip=t("Two steps that log, evaluate and save")),
        Binding("L", "launch_unprobed", t("launch without the probe"), show=False),
        Binding("d", "full_verdict", t("whole verdict"), show=False),
        Binding("r", "next_recipe", t("recipe"), show=False),
        Binding("u,ctrl+z", "undo", t("undo"), show=False),
        Binding("U,ctrl+y", "redo", t("redo"), show=False, tooltip=t("What u undid, again")),
        Binding("x", "in_form('reset')", t("preset's value"), show=False),
        Binding("a", "in_form('toggle_all')", t("all settings"), show=False),
        Binding("R", "app.go('runs')", t("runs"), show=False),
        Binding("w", "app.go('watch')", t("watch"), show=False),
        Binding("escape", "back", show=False),
        Binding("question_mark", "help", t("help")),
        Binding("q", "app.ask_leave", t("quit")),
    ]

    def __init__(self, session: Session, standing: Standing | None = None) -> None:
        """`standing`: what of the form is in sight at first, else its beginning."""
        super().__init__(session)
        self._standing = standing
        self._ready = False
        self._fixable: bool | None = None

    def compose(self) -> ComposeResult:
        """The first paint: the presets. The rest is mounted right after it."""
        self.fit_terminal()
        yield TopBar("configure")
        yield Static(configure_words.gpu_line(None), id="gpu-line")
        yield Static(id="preset-line")
        with Container(id="middle"):
            yield PresetTable(self.session.catalog, id="presets")

    def on_mount(self) -> None:
        """Mount the rest once the presets are on the terminal."""
        config = self.session.config
        self.presets.mark(config.recipe.name, config.preset)
        self._about()
        # Not `call_after_refresh`: the app paints nothing while it starts, and calls what waits for that all the same.
        self.screen_layout_refresh_signal.subscribe(self, self._painted)

    async def _painted(self, _screen: object) -> None:
        """The presets are on the terminal: the rest follows, and is painted once, when all of it is there."""
        self.screen_layout_refresh_signal.unsubscribe(self)
        time.sleep(FRAME_OUT)
        with self.app.batch_update():
            await self._mount_rest()

    async def _mount_rest(self) -> None:
        from prl_tui.tui.widgets.field_help import FieldHelp
        from prl_tui.tui.widgets.gpu_table import CONFIGURE, GpuTable
        from prl_tui.tui.widgets.key_line import KeyLine
        from prl_tui.tui.widgets.preview import Preview
        from prl_tui.tui.widgets.settings_form import SettingsForm
        from prl_tui.tui.widgets.verdict_view import VerdictView

        gpus = GpuTable(CONFIGURE, id="gpus")
        gpus.border_title = t("GPUs")
        centre = Vertical(SettingsForm(id="settings"), FieldHelp(id="about"), id="centre")
        middle = self.query_one("#middle")
        await self.mount(gpus, after="#gpu-line")
        await middle.mount(centre, VerdictView(id="verdict"))
        await self.mount(Preview(id="preview"), KeyLine(), after="#middle")
        self._ready = True
        self.set_focus(self.form)
        self.update()
        if self._standing is not None:
            self.form.stand(self._standing)
        self.presets.keep_list()
        for look in (self.look_on, self.presets.look_at_files):
            self.set_timer(LOOK_AFTER, look)

    # --- parts ----------------------------------------------------------------------------------------------------

    @property
    def presets(self) -> PresetTable:
        """The list of presets."""
        return self.query_one("#presets", PresetTable)

    @property
    def form(self) -> SettingsForm:
        """The settings."""
        return cast("SettingsForm", self.query_one("#settings"))

    @property
    def verdict(self) -> VerdictView:
        """The verdict."""
        return cast("VerdictView", self.query_one("#verdict"))

    @property
    def preview(self) -> Preview:
        """What will run."""
        return cast("Preview", self.query_one("#preview"))

    # --- drawing --------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Draw the session as it is now."""
        if not self._ready or not self.whole():
            return
        self.session.looking = self.still_looking
        verdict = self.session.verdict
        self.form.show(self.session.config, configure_words.worst(verdict))
        self._describe()
        probe = self.session.probe
        self.verdict.show(verdict, probe.words() if probe is not None else "")
        if self.preview.display:
            self.preview.show(verdict.plan)
        self._about()
        if self._fixable != (verdict.first_fix is not None):
            self._fixable = verdict.first_fix is not None
            self.refresh_bindings()  # all of them are asked: not at every keystroke

    def _about(self) -> None:
        self.query_one(TopBar).say(configure_words.about(self.session))
        self._name_preset()

    def _name_preset(self) -> None:
        line = configure_words.preset_line(self.session.config, self.has_class("-presets"))
        self.say("#preset-line", line)

    # --- what the person does -------------------------------------------------------------------------------------

    def on_preset_table_chosen(self, event: PresetTable.Chosen) -> None:
        """Start from another preset."""
        if not self._ready:
            return
        self.form.stop_typing()
        self.session.choose(event.recipe, event.preset)
        self.presets.mark(event.recipe, event.preset)
        self._show_only("")
        self.look_at_gpus()
        self.update()

    def on_settings_form_changed(self, event: SettingsForm.Changed) -> None:
        """A keystroke."""
        self.session.set_text(event.key, event.text)
        self.update()

    def on_settings_form_reverted(self, event: SettingsForm.Reverted) -> None:
        """What was typed is not wanted."""
        self.session.cancel_typing(event.key)
        self.update()

    def on_settings_form_typing_ended(self, event: SettingsForm.TypingEnded) -> None:  # noqa: ARG002
        """The next keystroke is another step back."""
        self.session.finish_typing()

    def on_settings_form_reset(self, event: SettingsForm.Reset) -> None:
        """The preset's value."""
        self.session.reset(event.key)
        self.update()

    def on_settings_form_moved(self, event: SettingsForm.Moved) -> None:  # noqa: ARG002
        """Say what the field is."""
        self._describe()

    def _describe(self) -> None:
        """What the field under the cursor is, in the lines that there are; `?` has all of a longer one."""
        cast("FieldHelp", self.query_one("#about")).show(self.form.field)

    def on_verdict_view_applied(self, event: VerdictView.Applied) -> None:
        """A way out."""
        self._apply(event.fix)

    def _apply(self, fix: Fix) -> None:
        self.form.stop_typing()
        self.session.finish_typing()
        self.session.apply(fix.changes)
        self.update()

    # --- actions --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`fix` where there is one; nothing before the first paint is complete."""
        if not super().check_action(action, parameters):
            return None
        if action == "presets" and self.presets.has_focus:  # they are in sight
            return False
        if action == "fix" and not is_told(parameters):
            return True if self.session.verdict.first_fix is not None else None
        return True

    def whole(self) -> bool:
        """The rest is there too, and drawn once."""
        return self._ready and super().whole()

    def action_fix(self, _none: bool = False) -> None:
        """Apply the first way out; say where there is none."""
        verdict = self.session.verdict
        if verdict.first_fix is None:
            self.prl.tell(configure_words.no_fix(verdict))
        else:
            self._apply(verdict.first_fix)

    def action_undo(self) -> None:
        """One change back."""
        before = self._settled()
        if not self.session.undo():
            self.prl.tell(t("There is nothing to undo."))
        elif (now := self._went()) != before:
            self.prl.tell(t("u led back to {now}. U takes {before} again.", now=now, before=before), "warning")

    def action_redo(self) -> None:
        """What was undone last, again."""
        before = self._settled()
        if not self.session.redo():
            self.prl.tell(t("There is nothing to redo."))
        elif (now := self._went()) != before:
            self.prl.tell(t("U led on to {now}. u leads back to {before}.", now=now, before=before), "warning")

    def _settled(self) -> str:
        """Which preset the form has, with every change a step of its own."""
        self.form.stop_typing()
        self.session.finish_typing()
        return configure_words.name(self.session.config)

    def _went(self) -> str:
        """Another step's config is in the form: which preset that is of."""
        config = self.session.config
        self.presets.mark(config.recipe.name, config.preset)
        self.look_at_gpus()
        self.update()
        return configure_words.name(config)

    async def action_in_form(self, action: str) -> None:
        """A key of the form's, pressed in another pane: the form comes into sight with what it does."""
        self._show_only("")
        self.form.focus()
        await self.form.run_action(action)

    def action_presets(self) -> None:
        """Go to the presets."""
        self._show_only("-presets")
        self.presets.focus()

    def action_next_recipe(self) -> None:
        """The next recipe's first preset."""
        self.presets.next_recipe()

    def action_preview(self) -> None:
        """The preview, or its next format."""
        if not self.preview.display:
            self._show_only("-preview")
        else:
            self.preview.turn(1)
        self.preview.show(self.session.verdict.plan)
        self.preview.query_one("#preview-text").focus()

    def action_turn(self, by: int) -> None:
        """Another format of the preview, where that is in sight."""
        if self.preview.display and self.preview.region.area:
            self.preview.turn(by)
        else:
            self.prl.tell(t("The preview is not in sight: v shows it, then [ ] turn its formats."))

    def action_back(self) -> None:
        """From a pane back to the form; a probe that runs is ended first."""
        if self.prl.launching.cancel(self.session):
            self.prl.tell(t("The probe was ended."))
            self.update()
            return
        for found in self.query("#finder"):
            finder = cast("Finder", found)
            if finder.has_focus:
                finder.give_up()
                return
            finder.leave()
        self._show_only("")
        self.form.focus()

    def action_full_verdict(self) -> None:
        """The whole verdict where only its first lines are in sight, and back."""
        if self.has_class("-full-verdict"):
            self.action_back()
            return
        self._show_only("-full-verdict")
        self.verdict.focus()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002
        """A preview that comes into sight shows what is now."""
        self.call_after_refresh(self.update)

    @property
    def _view(self) -> str:
        """The class in force of `VIEWS`, or ""."""
        return next((name for name in VIEWS if self.has_class(name)), "")

    def _show_only(self, view: str) -> None:
        for name in VIEWS:
            self.set_class(name == view, name)
        self._name_preset()
        if view == "" and self._ready and not self.form.has_focus:
            self.set_focus(self.form)  # now: `focus` would take it from a finder that comes next

    async def action_find(self) -> None:
        """Find a setting by name."""
        from prl_tui.tui.widgets.finder import Finder

        if not self.query("#finder"):
            finder = Finder(self.form, self._way_back())
            self._show_only("")
            await self.query_one("#centre").mount(finder, before=0)
        self.set_focus(self.query_one_optional("#finder"))

    def _way_back(self) -> Callable[[], None]:
        """To the panes and the keys' place of now."""
        view, focused = self._view, self.focused

        def back() -> None:
            self._show_only(view)
            self.set_focus(focused if focused is not None and focused.is_attached else self.form)

        return back

    def action_help(self) -> None:
        """What this screen is."""
        from prl_tui.core import wordlist
        from prl_tui.tui.help import configure_help
        from prl_tui.tui.screens.dialogs import Help

        field = self.form.field
        about = safe(t("{place}: {words}", place=field.label, words=wordlist.about(field))) if field is not None else ""
        self.app.push_screen(Help(configure_help(about)))

    def _is_pointing(self) -> bool:
        """Told to whoever wants to go on with a preset that only the cursor is on: the form has another one."""
        pointed = self.presets.pointed
        if pointed:
            now = configure_words.name(self.session.config)
            self.prl.tell(t("The form has {now}; enter takes {pointed}.", now=now, pointed=pointed), "warning")
        return bool(pointed)

    def action_launch(self) -> None:
        """Start the run on this box, as it is now."""
        self._launch(probe=True)

    def action_launch_unprobed(self) -> None:
        """Start the run without asking the training environment."""
        self._launch(probe=False)

    def action_probe(self) -> None:
        """Try the training environment, start nothing."""
        if self._is_pointing():
            return
        self.prl.launching.probe(self.session)
        self.update()

    def action_smoke(self) -> None:
        """A few steps of this config, to see whether it works at all."""
        self._launch(probe=True, smoke=True)

    def _launch(self, probe: bool, smoke: bool = False) -> None:
        if self._is_pointing():
            return
        self.look_at_gpus()
        self.prl.launching.launch(self.session, probe, smoke)
        self.update()

    def action_export(self) -> None:
        """The formats, what each would write, what it cannot carry."""
        if self._is_pointing():
            return
        from prl_tui.tui.screens.export import ExportScreen

        def closed(refused: str | None) -> None:
            if refused:
                self._show_only("")
                self.form.go_to(refused)
                self.form.focus()

        self.app.push_screen(ExportScreen(self.session), closed)

    def action_save_preset(self) -> None:
        """Keep the values."""
        if self._is_pointing():
            return
        from prl_tui.tui.saving import ask

        ask(self.prl, self.session)
