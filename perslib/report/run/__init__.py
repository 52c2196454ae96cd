"""Run notebooks: plan, execution, progress, batches of questions, and what a run leaves behind."""
