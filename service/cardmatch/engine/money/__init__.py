"""What a card costs: offers, the providers behind them, the countries that they stand in, and owning instead."""
