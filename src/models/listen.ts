import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { RuntimeError } from '../core/errors.ts'

/** A server at work. `close` ends requests that are still open. */
export type RunningServer = { url: string; close(): Promise<void> }

/** Starts listening; `close` does not wait for clients to hang up. */
export async function listen(server: Server, port: number, host: string): Promise<RunningServer> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(cannotListen(cause, port, host)))
    server.listen(port, host, resolve)
  })
  const address = server.address() as AddressInfo
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `http://${shown}:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function cannotListen(cause: Error, port: number, host: string): RuntimeError {
  const message = `Cannot listen on ${host}:${port}: ${cause.message}. Choose another port.`
  return new RuntimeError('code' in cause && cause.code === 'EADDRINUSE' ? 'port-in-use' : 'cannot-listen', message, {
    cause,
  })
}
