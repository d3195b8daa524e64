"""What a message that came back says, read out of its octets alone: no database, no network, no clock."""
