"""The screens. No rules, no arithmetic, no subprocess."""
