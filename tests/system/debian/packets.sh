# As far as the first run of queuelat, which alone lasts up to half a minute; the whole takes more than ten minutes.
determine_maximum_mpps > /tmp/packets 2>&1 &
until grep -qs 'testing 3 Mpps' /tmp/packets; do sleep 0.2; done
echo begun
kill $!
pkill queuelat
wait
