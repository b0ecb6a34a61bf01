#!/bin/bash
# Boots the box's own systemd as process 1 of a namespace, over a copy of its files that is gone afterwards:
# boot.sh FOLDER CGROUP KILLS PATH... Only the bus and logind are started; nothing of the box's kernel is touched.
set -euo pipefail
folder=$1 group=$2 kills=$3

if [[ -z ${INSIDE-} ]]; then
  mkdir -p "$group"
  echo $$ >"$group/cgroup.procs"
  export INSIDE=1
  exec unshare --mount --propagation private --pid --fork --uts --ipc --cgroup bash "$0" "$@"
fi

root=$folder/root
mount -t tmpfs none "$folder"
mkdir -p "$folder"/{up,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/up,workdir=$folder/work" "$root"
cd "$root"
mount -t proc proc proc
mount -t tmpfs none run
mount -t sysfs sysfs sys
mount --rbind /dev dev
if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
  mount -t cgroup2 none sys/fs/cgroup
else
  mount -t tmpfs none sys/fs/cgroup
  mkdir sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd none sys/fs/cgroup/systemd
fi
for path in "${@:4}"; do # what lies on another file system than /
  if [[ ! -e $root$path ]]; then
    mkdir -p "$root$path"
    mount --rbind "$path" "$root$path"
  fi
done
units=etc/systemd/system
mkdir -p $units etc/systemd/logind.conf.d
for wanted in {usr/lib,etc}/systemd/system/{sysinit,basic,sockets,local-fs,timers}.target.wants/*; do
  ln -sf /dev/null "$units/${wanted##*/}" # they would set the kernel up, which is the box's
done
rm -f $units/dbus.socket
printf '[Unit]\nRequires=dbus.socket dbus.service systemd-logind.service\nAfter=dbus.service systemd-logind.service\n' >$units/judge.target
printf '[Login]\nKillUserProcesses=%s\nKillExcludeUsers=nobody\n' "$kills" >etc/systemd/logind.conf.d/judge.conf
exec env -i container=judge PATH="$PATH" chroot . /lib/systemd/systemd --system --unit=judge.target --log-target=null
