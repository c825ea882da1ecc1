"""What a run came to: verdict, node lists, distributions. Reads nothing, decides nothing while a run is under way."""
