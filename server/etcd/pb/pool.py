"""The descriptor pool of our generated messages.

Not the default pool of the process: other etcd clients register the same names there, and a
program that embeds a node must be able to import them too.
"""

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
