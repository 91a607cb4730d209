/**
 * An HTTP server that answers every request with the same balances and checks nothing, so that the client's own speed
 * shows. A process of its own; prints its origin as one line, and ends with its parent.
 */
import { createServer } from 'node:http';

const BODY = JSON.stringify({
  data: {
    aggregate: { currency: 'USD', withdrawableBalance: '1000000.00' },
    balances: [{ currency: 'USD', withdrawableBalance: '1000000.00', totalBalance: '1000000.00' }],
  },
});

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(BODY),
    'X-Trace-Id': '0',
    'X-Request-Id': request.headers['x-request-id'],
  });
  response.end(BODY);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`);
});
