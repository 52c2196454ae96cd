"""Systems that stand on the core: each brings its own data, methods, studies and commands, and none needs another."""
