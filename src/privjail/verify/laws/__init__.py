"""Output laws of mechanisms: in closed form, from the code run on scripted noise, and measured."""
