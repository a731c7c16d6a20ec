"""A server of models: batches of requests, limits, metrics, and the Open Inference Protocol over HTTP."""
