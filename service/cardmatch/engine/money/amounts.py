"""Bounded amounts of money and the words that offers and providers share. Prices are US dollars before tax."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from msgspec import Meta

UsdPerHour = Annotated[float, Meta(gt=0, le=10**6, description="US dollars per hour of the whole instance.")]
Usd = Annotated[float, Meta(ge=0, le=10**12, description="US dollars.")]
UsdPerGb = Annotated[float, Meta(ge=0, le=10**4, description="US dollars per GB (10^9 bytes).")]
Gigabytes = Annotated[float, Meta(ge=0, le=10**9, description="GB (10^9 bytes).")]
Seconds = Annotated[int, Meta(ge=1, le=10**8, description="Seconds.")]
Day = Annotated[dt.date, Meta(description="ISO 8601 date.")]
CountryCode = Annotated[str, Meta(pattern=r"^[A-Z]{2}$(?!\n)", description="ISO 3166-1 alpha-2 code.")]
ProviderId = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9._-]*$(?!\n)")]
Source = Annotated[str, Meta(min_length=1, max_length=400, description="Where the fact was read.")]
Note = Annotated[str, Meta(min_length=1, max_length=600)]
