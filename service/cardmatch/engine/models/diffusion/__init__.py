"""What an image or video pipeline is made of: denoiser, text encoders, autoencoder, and the readers of each."""
