"""The abstract interpreter: what expressions evaluate to, statement by statement.

The class is built up from `machine.Machine` (state) through one module per concern to
`interpreter.Interpreter`; functions on values are in modules of their own (`library`, `arrays`,
`control`, `parameters`, `joins`).
"""
