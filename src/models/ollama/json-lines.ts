import type { IncomingMessage } from 'node:http'
import { modelError } from '../model-errors.ts'

const maxLineBytes = 64 * 1024 * 1024
const newline = 10

/**
 * The values of a stream with one JSON value a line. Throws `model-incomplete` at a line that is none. A reader who stops
 * early leaves the connection whole, for the next request: iterating a response directly would close it.
 */
export async function* readJsonLines(response: IncomingMessage): AsyncGenerator<unknown, void, undefined> {
  try {
    for await (const line of readLines(response)) {
      const value = parseLine(line)
      if (value !== undefined) yield value
    }
  } catch (error) {
    response.destroy()
    throw error
  } finally {
    response.resume()
  }
}

async function* readLines(response: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const data of response.iterator({ destroyOnReturn: false })) {
    let chunk = data as Buffer
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline)) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)])
      rest = []
      restBytes = 0
      chunk = chunk.subarray(end + 1)
    }
    if (chunk.length > 0) rest.push(chunk)
    restBytes += chunk.length
    if (restBytes > maxLineBytes) throw broken('a line of its reply is longer than 64 MB')
  }
  yield Buffer.concat(rest)
}

function parseLine(bytes: Buffer): unknown {
  const text = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim()
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw broken(`it sent what is no JSON: ${text.slice(0, 120)}`, cause)
  }
}

function broken(what: string, cause?: unknown): Error {
  return modelError('model-incomplete', `The model server's reply broke: ${what}`, { cause })
}
