"""Retrieval: embedding models, index generations in pgvector, BM25, fusion, and the expectations of the index gate."""
