"""A desktop of one's own for one run: a screen, a browser on it, eyes and hands.

`session.Desktop` is the way in; `computer_toolset.ComputerToolset` lets a model use it. See README.md for the map.
"""
