"""How well judges, users and raters agree."""
