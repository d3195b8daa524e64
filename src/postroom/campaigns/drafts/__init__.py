"""What a campaign is made of before it is launched: kept, checked and forecast."""
