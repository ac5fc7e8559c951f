"""The demo portal: a quarterly quality-improvement report, filed in three steps through web pages.

It stands for somebody else's website. It decides what a valid report is and keeps the record of what was filed. It
never imports `tasks` or `flows`, never grades an answer against the regulations, and offers no programming interface
besides its pages.
"""
