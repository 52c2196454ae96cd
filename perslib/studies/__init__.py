"""The computations and figures of the notebooks: one module per study, so that the notebooks' cells stay short."""
