"""Satisfaction from behaviour (UXBench): `bench` has the names used most, `signals` what behaviour says of replies."""
