"""What a card is: its memory as engines see it, bandwidth, arithmetic, links and partitions."""
