"""What the product costs, each number beside a named reference that was measured in the same run.

Asserts nothing about time: a number that gets worse is seen in the table and in the history, no test fails of it.
"""
