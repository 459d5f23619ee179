"""The words that every other room uses: bands, notices, faults, units."""
