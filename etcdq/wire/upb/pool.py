"""A descriptor pool of our own, as in etcdq.server.etcd.pb.pool."""

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
