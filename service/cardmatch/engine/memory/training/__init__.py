"""Memory of training and fine-tuning: what is resident, what lives at each moment of a step, and what fits."""
