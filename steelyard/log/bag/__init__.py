"""ROS 2 bags and MCAP files, read as logs."""
