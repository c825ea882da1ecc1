"""The words of the API: models of our kinds, their names, conditions and field paths. Decides nothing."""
