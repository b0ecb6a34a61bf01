"""The app: three places, the feeds that they share, and nothing else. Rules and arithmetic live in `core`."""

from __future__ import annotations

import gc
import time
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.reactive import Reactive
from textual.screen import ModalScreen

from prl_tui.core.catalog import Catalog
from prl_tui.i18n import t
from prl_tui.tui.calm_end import NO_CODE, CalmEnd
from prl_tui.tui.cells import safe_lines
from prl_tui.tui.keys_in_turn import KeyDone, KeysInTurn, as_typed
from prl_tui.tui.session import Session
from prl_tui.tui.theme import DARK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import SystemCommand
    from textual.driver import Driver
    from textual.notifications import Notify
    from textual.screen import Screen
    from textual.theme import Theme

    from prl_tui.machine.gpu_feed import GpuFeed, Reading
    from prl_tui.runs.folder import RunFolder
    from prl_tui.tui.beside import Beside
    from prl_tui.tui.feeds import BoxFacts, RunFeed
    from prl_tui.tui.launching import Launching
    from prl_tui.tui.screens.sized_panes import Shares

HERE = Path(__file__).parent
SETTLED = 2.0
"""Seconds after which everything of the first place is there."""
FRAME = 0.25
"""Seconds between two frames while typed keys wait for their turn."""
TOUCHES = (events.Key, events.Paste, events.MouseDown, events.MouseScrollUp, events.MouseScrollDown)
LEAVING = frozenset({"ctrl+c", "ctrl+q"})
Severity = Literal["information", "warning", "error"]


class PrlApp(CalmEnd):
    """`prl-tui` on a terminal."""

    TITLE = "prl-tui"
    # Both at once: a style sheet that a screen brings makes all of them be parsed again.
    CSS_PATH: ClassVar[list[str | PurePath]] = [HERE / "app.tcss", HERE / "screens" / "configure.tcss"]
    theme: Reactive[str] = Reactive(DARK.name)  # from the first moment: a change reads all style sheets again
    ENABLE_COMMAND_PALETTE = False  # `palette` is our own
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("colon,ctrl+p", "actions", show=False),
        Binding("ctrl+c", "leave", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
    ]

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        session: Session | None = None,
        watch: RunFolder | None = None,
        runs_root: Path | None = None,
        leave_when_done: bool = False,
    ) -> None:
        """`watch`: open on that run; `runs_root`: on the list of these; `leave_when_done`: leave a while after its end."""
        super().__init__()
        self._catalog = catalog
        self._session = session
        self._first_watch = watch
        self._opens_list = runs_root is not None
        self._runs_root = runs_root
        self.leaves_after = watch if leave_when_done else None  # leaves a while after its end, unless a key is pressed
        self._gpus: GpuFeed | None = None
        self._feeds: dict[str, RunFeed] = {}
        self.watched: RunFolder | None = watch
        """The run that was looked at last."""
        self.runs_text = ""
        """What the list of runs shows only runs with; it outlives a look at one of them."""
        self.pane_shares: dict[tuple[str, str], Shares] = {}
        """What somebody gave the watch screen's panes, by class of terminal width and height."""
        self._drawn = 0.0
        self.touched = 0.0
        """When somebody last pressed a key, pasted, clicked or scrolled, on the monotonic clock."""
        self._keys = KeysInTurn(self, super().on_event)
        self.register_theme(DARK)
        self.add_class("-dark-mode", f"-theme-{DARK.name}")

    async def on_event(self, event: events.Event) -> None:
        """Keys and pastes one after another; the keys that leave are never waited for."""
        if isinstance(event, TOUCHES):
            self.touched = time.monotonic()
        typed = isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded
        if isinstance(event, events.Key) and typed:
            for key in as_typed(event)[:-1]:
                await self._keys.take(key)
            event = as_typed(event)[-1]
        if typed and not (isinstance(event, events.Key) and event.key in LEAVING):
            await self._keys.take(event)
        else:
            await super().on_event(event)

    def frame_can_wait(self) -> bool:
        """Whether keys wait that will change the screen, and it was drawn a short while ago."""
        now = time.monotonic()
        if self._keys.waiting and now - self._drawn < FRAME:
            return True
        self._drawn = now
        return False

    async def on_key_done(self, event: KeyDone) -> None:
        """What a key did is done."""
        event.stop()
        await self._keys.done(event.turn)

    def get_driver_class(self) -> type[Driver]:
        """Our own where Textual would take the one for Linux."""
        found = super().get_driver_class()
        if found.__module__ != "textual.drivers.linux_driver":
            return found
        from prl_tui.tui.terminal import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> Screen[None]:
        """What the places lie on."""
        from prl_tui.tui.screens.under import Under

        return Under(id="_default")

    def get_theme(self, theme_name: str) -> Theme | None:
        """The app's own theme too, which the framework wants before one can be registered."""
        return DARK if theme_name == DARK.name else super().get_theme(theme_name)

    def on_mount(self) -> None:
        """Open the first place."""
        self._leave_on_sigterm()
        if not gc.isenabled():
            self.set_timer(SETTLED, self._collect_again)
        self.call_later(self._first_place)  # nothing is painted before the app runs: what is mounted now is drawn twice

    def _first_place(self) -> None:
        if self._first_watch is not None:
            self.open_run(self._first_watch)
        elif self._opens_list:
            self.action_go("runs")
        else:
            self.action_go("configure")
            self.call_after_refresh(self._ask_about_project)

    @staticmethod
    def _collect_again() -> None:
        """The start is over: what it made stays, and is never walked again."""
        gc.freeze()
        gc.enable()

    def _leave_on_sigterm(self) -> None:
        """SIGTERM leaves as `q` does, so that the terminal is as it was before."""
        import asyncio
        import contextlib
        import signal

        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # only in a main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.action_leave)

    def _ask_about_project(self) -> None:
        """A project's own recipes are used after a yes, once."""
        from prl_tui.machine import trust

        project = trust.folder_here()
        for problem in self.catalog.problems:
            self.tell(t("skipped: {problem}", problem=problem.message), "warning")
        if project is None or trust.known(project) is not None:
            return
        from prl_tui.tui.screens.dialogs import Question

        def answered(yes: bool | None) -> None:
            not_kept = trust.remember(project, bool(yes))
            if yes:
                config = self.session.config
                self.reload_presets(config.recipe.name, config.preset)
            if not_kept:
                self.tell(not_kept, "warning")

        self.push_screen(Question(trust.question(project), t("use them"), t("not now")), answered)

    @cached_property
    def beside(self) -> Beside:
        """What is done beside the screen."""
        from prl_tui.tui.beside import Beside

        return Beside(self)

    def on_unmount(self) -> None:
        """Let the feeds go; nothing here is waited for, but for a moment what should not be left half done."""
        if self._session is not None:
            self.launching.cancel(self._session)
        if self._gpus is not None:
            self._gpus.stop()
        for feed in self._feeds.values():
            feed.stop()
        if "beside" in self.__dict__:
            self.beside.leave()

    # --- places ---------------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """What the configure screen works on; made when first needed."""
        if self._session is None:
            self._session = Session.begin(self.catalog)
        return self._session

    @property
    def unkept(self) -> tuple[str, ...]:
        """The changed settings that would be gone with the app."""
        return self._session.unkept if self._session is not None else ()

    @property
    def catalog(self) -> Catalog:
        """The recipes."""
        if self._catalog is None:
            from prl_tui.core import heads
            from prl_tui.machine import paths, trust

            folders = trust.recipe_folders(trust.folder_here())
            self._catalog = heads.load(folders, paths.cache_dir() / "recipes")
        return self._catalog

    def action_go(self, place: str) -> None:
        """Go to configure, runs or watch."""
        if place == "watch":
            self._watch_last()
            return
        screen: Screen[None]
        if place == "runs":
            from prl_tui.tui.screens.runs import RunsScreen

            screen = RunsScreen()
        else:
            from prl_tui.tui.screens.configure import ConfigureScreen

            screen = ConfigureScreen(self.session)
        self._show(screen)

    def open_run(self, folder: RunFolder) -> None:
        """Watch a run."""
        if folder.path.parent != self._runs_root:
            self._runs_root = None  # one that was launched meanwhile: its list is that of this person's runs
        self.watched = folder
        from prl_tui.tui.screens.watch import WatchScreen

        self._show(WatchScreen(folder, self.run_feed(folder)))

    def _show(self, screen: Screen[None]) -> None:
        """One place at a time: the stack holds the default screen, the place, and dialogs over it, which go with it.

        So does what was said there.
        """
        self.clear_notifications()
        while len(self.screen_stack) > 2:
            self.pop_screen()
        if len(self.screen_stack) > 1:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    @property
    def runs_root(self) -> Path:
        """The folder whose runs are listed."""
        from prl_tui.machine import paths

        return self._runs_root or paths.runs_dir()

    def _watch_last(self) -> None:
        from prl_tui.runs import store
        from prl_tui.runs.folder import RunFolder

        root, asked = self.runs_root, self.screen

        def then(found: RunFolder | store.NoRun | store.Ambiguous) -> None:
            if self.screen is not asked:
                return  # somebody went elsewhere meanwhile
            if isinstance(found, RunFolder):
                self.open_run(found)
            else:
                self.tell(found.sentence)

        looking = t("Looking for the last run …")
        self.beside.do("last run", lambda: store.find(root, store.LAST), then, awaited=looking, holds_keys=True)

    # --- feeds ----------------------------------------------------------------------------------------------------

    def run_feed(self, folder: RunFolder) -> RunFeed:
        """The feed of a run, shared by the screens."""
        from prl_tui.tui.feeds import RunFeed

        if folder.id not in self._feeds:
            self._feeds[folder.id] = RunFeed(folder)
            self._feeds[folder.id].start()
        return self._feeds[folder.id]

    @cached_property
    def box(self) -> BoxFacts:
        """What this box knows of a config."""
        from prl_tui.tui.feeds import BoxFacts

        return BoxFacts()

    def gpu_reading(self) -> Reading:
        """The last look at the GPUs; the first call starts the sampler."""
        if self._gpus is None:
            from prl_tui.machine.gpu_feed import GpuFeed

            self._gpus = GpuFeed()
            self._gpus.start()
        return self._gpus.latest()

    # --- launching ------------------------------------------------------------------------------------------------

    @cached_property
    def launching(self) -> Launching:
        """What the launch keys do."""
        from prl_tui.tui.launching import Launching

        return Launching(self)

    def refresh_place(self) -> None:
        """Draw the configure screen anew, if it is the place."""
        from prl_tui.tui.screens.configure import ConfigureScreen

        for screen in self.screen_stack:
            if isinstance(screen, ConfigureScreen):
                screen.update()

    # --- the rest -------------------------------------------------------------------------------------------------

    def tell(self, sentence: str, severity: Severity = "information") -> None:
        """Say something that needs no answer. Literal text, without secrets."""
        from prl_tui.core import secrets

        self.notify(
            safe_lines(secrets.forms_hidden(sentence)),
            severity=severity,
            markup=False,
            timeout=8 if severity == "error" else 5,
        )

    def on_notify(self, event: Notify) -> None:
        """What stands there already is not shown a second time."""
        from prl_tui.tui import toasts

        if toasts.in_sight(self, event.notification):
            event.prevent_default()

    def reload_presets(self, recipe: str, preset: str) -> None:
        """Read the recipes again and go on from a preset, at the field where the cursor is."""
        from prl_tui.tui.screens.configure import ConfigureScreen

        place = next((one for one in self.screen_stack if isinstance(one, ConfigureScreen) and one.whole()), None)
        standing = place.form.standing if place is not None else None
        self._catalog = None
        self._session = Session.begin(self.catalog, recipe, preset)
        self._show(ConfigureScreen(self.session, standing))

    def action_doctor(self) -> None:
        """What is wrong with this box and the config's environment; looked at on a thread."""
        from prl_tui.tui import examining

        examining.show(self)

    def action_actions(self) -> None:
        """Every action by name."""
        if not isinstance(self.screen, ModalScreen) or getattr(self.screen, "PALETTE", False):
            self._ask_which(list(self.get_system_commands(self.screen)))

    def find_preset(self, typed: str = "") -> None:
        """A preset by a part of its name or its recipe's, of which some may be typed already."""
        from prl_tui.tui import commands

        self._ask_which(list(commands.presets(self, self.screen)), t("a preset by name …"), typed)

    def _ask_which(self, actions: list[SystemCommand], hint: str = "", typed: str = "") -> None:
        from prl_tui.tui import commands
        from prl_tui.tui.palette import Palette

        def chosen(action: SystemCommand | None) -> None:
            if action is not None:
                action.callback()

        self.push_screen(Palette(actions, commands.further(self), hint, typed), chosen)

    def action_ask_leave(self) -> None:
        """Leave, after a question where that loses changed settings; runs go on."""
        from prl_tui.tui import leaving

        leaving.ask(self)

    def action_leave(self) -> None:
        """Leave at once; runs go on."""
        feed = next((feed for feed in self._feeds.values() if feed.folder is self._first_watch), None)
        one = feed.latest() if feed is not None else None
        code = one.status.exit_code if one is not None else None
        self.exit(NO_CODE if code is None and one is not None and one.status.over else code)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the screen by name, and the places."""
        from prl_tui.tui import commands

        yield from commands.of(self, screen)
