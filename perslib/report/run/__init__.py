"""Run notebooks: plan, estimate, execution, progress, and what a run leaves behind."""
