"""An application with the workers of all regions inside it, for uvicorn to serve."""

from __future__ import annotations

from fastapi import FastAPI

import postroom.web
from postroom import Regions

app = FastAPI(lifespan=postroom.web.lifespan(Regions.from_settings(), grace="60s"))
