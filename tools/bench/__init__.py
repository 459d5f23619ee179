"""What the service costs: engine time, server CPU per request beside a bare echo, memory, start-up."""
