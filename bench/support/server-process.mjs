import { spawn } from 'node:child_process'

/**
 * Starts a server in a process of its own and waits for the line that tells its address. `url` is without a slash at the
 * end. `stop` resolves with all that it printed.
 */
export async function startServer(args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  const gone = new Promise((resolve) => child.once('close', resolve))
  const url = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${printed}`)))
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)
      if (found) resolve(found[0])
    })
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await gone
      return printed
    },
  }
}
