"""The places of the app and its dialogs."""
