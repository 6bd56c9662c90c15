# Four workers, one server that asks the other; a file of 3 MB, many requests at once, the configuration read again while it serves.
set -e
rm -rf /tmp/www && mkdir /tmp/www
echo served > /tmp/www/index.html
head -c 3000000 /dev/urandom > /tmp/www/big
cat > /tmp/www/nginx.conf << END
worker_processes 4; pid /tmp/www/pid; error_log /tmp/www/errors;
events { worker_connections 512; }
http {
  access_log off; sendfile on;
  client_body_temp_path /tmp/www/1; proxy_temp_path /tmp/www/2; fastcgi_temp_path /tmp/www/3; uwsgi_temp_path /tmp/www/4; scgi_temp_path /tmp/www/5;
  server { listen 127.0.0.1:18080; root /tmp/www; }
  server { listen 127.0.0.1:18081; location / { proxy_pass http://127.0.0.1:18080; } }
}
END
nginx -e /tmp/www/errors -c /tmp/www/nginx.conf -g 'daemon off;' &
curl -s --retry 50 --retry-connrefused --retry-delay 1 http://127.0.0.1:18081/
curl -s http://127.0.0.1:18081/big | cmp - /tmp/www/big && echo same
curl -s -o /tmp/www/answer -w '%{http_code}\n' http://127.0.0.1:18080/none
ab -q -n 500 -c 16 http://127.0.0.1:18080/ | grep -E 'Complete|Failed'
ab -q -k -n 500 -c 16 http://127.0.0.1:18081/ | grep -E 'Complete|Failed'
nginx -e /tmp/www/errors -c /tmp/www/nginx.conf -s reload
curl -s http://127.0.0.1:18080/
nginx -e /tmp/www/errors -c /tmp/www/nginx.conf -s quit
wait
