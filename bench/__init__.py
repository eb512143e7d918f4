"""Our server beside the real etcd under the same load: `python -m bench`, see README.md here."""
