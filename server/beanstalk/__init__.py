"""The beanstalk door: beanstalkd's text protocol and tuber's additions over the node's queues."""
