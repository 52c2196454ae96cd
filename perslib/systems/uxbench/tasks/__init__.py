"""UXBench's three tasks: judging a reply, replying, and recovering from a complaint."""
