# A package built, put into a repository of its own, and installed and removed by apt.
set -e
rm -rf /tmp/apt && mkdir -p /tmp/apt/made/DEBIAN /tmp/apt/made/usr/bin /tmp/apt/lists/partial /tmp/apt/cache/archives/partial && cd /tmp/apt
printf 'Package: corral-trial\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: a trial\n' > made/DEBIAN/control
printf '#!/bin/sh\necho from the package\n' > made/usr/bin/corral-trial
chmod 755 made/usr/bin/corral-trial made made/DEBIAN
dpkg-deb --build made trial.deb > log
{ cat made/DEBIAN/control; printf 'Filename: ./trial.deb\nSize: %s\nSHA256: %s\n' $(stat -c %s trial.deb) $(sha256sum trial.deb | cut -d' ' -f1); } > Packages
echo 'deb [trusted=yes] file:/tmp/apt ./' > sources.list
options='-q -y -o Dir::Etc::SourceList=/tmp/apt/sources.list -o Dir::Etc::SourceParts=/none -o Dir::State::Lists=/tmp/apt/lists -o Dir::Cache=/tmp/apt/cache'
apt-get $options update >> log 2>&1
apt-get $options install corral-trial >> log 2>&1
corral-trial
apt-get $options remove corral-trial >> log 2>&1
test -e /usr/bin/corral-trial || echo removed
