"""What a setting, a recipe, a batch and a launch are. Values in, values out: no screen, machine or clock."""
