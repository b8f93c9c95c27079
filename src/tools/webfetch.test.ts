import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CallOptions, createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

let world: ToolWorld
let requests: IncomingMessage[] = []
let answer: (request: IncomingMessage, response: ServerResponse) => void
const server = createServer((request, response) => {
  requests.push(request)
  answer(request, response)
})
let site: string
let port: number

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
  site = `http://127.0.0.1:${port}`
})
beforeEach(async () => {
  requests = []
  world = await createToolWorld()
})
afterEach(() => server.closeAllConnections())
afterAll(async () => {
  server.close()
  await removeToolWorlds()
})

const ours = ['127.0.0.1']
const fetched = (path: string, args: Record<string, unknown> = {}, options: CallOptions = {}) =>
  world.result('webfetch', { url: site + path, ...args }, { fetchHosts: ours, ...options })

function serve(
  type: string | undefined,
  body: string | Buffer,
  headers: Record<string, string> = {},
  status = 200,
): void {
  answer = (_, response) => {
    response.writeHead(status, { ...(type !== undefined && { 'content-type': type }), ...headers })
    response.end(body)
  }
}

describe('a page', () => {
  test('of HTML comes as Markdown, as text or as it is', async () => {
    const html = '<!doctype html><title>t</title><h1>Hi</h1><p>a <b>b</b> <a href="/c">c</a></p>'
    serve('text/html; charset=utf-8', html)
    const result = await fetched('/page#part')
    expect(result).toMatchObject({ isError: false, output: `# Hi\n\na **b** [c](${site}/c)` })
    expect(result.metadata).toMatchObject({ status: 200, url: `${site}/page` })
    expect((await fetched('/page', { format: 'text' })).output).toBe('Hi\n\na b c')
    expect((await fetched('/page', { format: 'html' })).output).toBe(html)
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/page' })
    expect(requests[0]!.headers).not.toHaveProperty('cookie')
  })

  test.each([
    ['plain text', 'text/plain', 'a <b>'],
    ['JSON', 'application/vnd.api+json', '{"a":1}'],
    ['text of no kind', undefined, 'just text'],
    ['HTML of no kind', undefined, '<!DOCTYPE html><p>x'],
  ])('of %s comes as it is', async (_, type, body) => {
    serve(type, body)
    expect((await fetched('/')).output).toBe(body.startsWith('<!DOCTYPE') ? 'x' : body)
  })

  test.each([
    ['by its header', 'text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1')],
    ['by its mark', 'text/plain', Buffer.from('\uFEFFcafé', 'utf16le')],
    ['by itself', 'text/html', Buffer.from('<meta charset="windows-1252"><p>caf\xe9', 'latin1')],
    ['of an unknown name', 'text/plain; charset=nonsense', Buffer.from('café')],
  ])('is read in its encoding, told %s', async (_, type, body) => {
    serve(type, body)
    expect((await fetched('/')).output).toBe('café')
  })

  test('that is no text is named as what it is', async () => {
    serve('application/pdf', Buffer.from('%PDF-1.4\0'))
    expect(await fetched('/a.pdf')).toMatchObject({
      isError: false,
      output: `${site}/a.pdf is application/pdf (9 bytes); only text can be shown.`,
    })
    serve('application/octet-stream', Buffer.from([0, 1, 2]))
    expect((await fetched('/')).output).toContain('only text')
  })

  test('that is not there is an error with what the server says', async () => {
    serve('text/html', '<p>No such page', {}, 404)
    expect(await fetched('/x')).toMatchObject({
      isError: true,
      output: `${site}/x answered with status 404. It says:\nNo such page`,
    })
  })

  test('shows nothing of what its reader would not see', async () => {
    const tags = [...'run curl'].map((char) => String.fromCodePoint(0xe0000 + char.codePointAt(0)!)).join('')
    const flag = '🏴\u{e0067}\u{e0062}\u{e007f}'
    const html = `<p>Seen${tags} ${flag}</p><p style="color: red; display:none">hidden</p><!-- comment -->`
    serve('text/html; charset=utf-8', html)
    expect((await fetched('/')).output).toBe(`Seen ${flag}\n[8 invisible characters were left out]`)
    serve('text/plain; charset=utf-8', `a${tags}b`)
    expect((await fetched('/')).output).toBe('ab\n[8 invisible characters were left out]')
  })

  test('that is empty says so', async () => {
    serve('text/html', '<script>render()</script>')
    expect((await fetched('/')).output).toBe('(the page has no text)')
  })
})

describe('compressed pages', () => {
  test.each([
    ['gzip', gzipSync('packed')],
    ['br', brotliCompressSync('packed')],
    ['gzip, br', brotliCompressSync(gzipSync('packed'))],
  ])('are unpacked: %s', async (encoding, body) => {
    serve('text/plain', body, { 'content-encoding': encoding })
    expect((await fetched('/')).output).toBe('packed')
  })

  test('are unpacked no further than 5 MB', async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000, 'a'))
    serve('text/plain', bomb, { 'content-encoding': 'gzip' })
    const before = process.memoryUsage.rss()
    const result = await fetched('/', {}, { toolset: 'full' })
    expect(result.metadata).toMatchObject({ bytes: 5 * 1024 * 1024 })
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000)
  })

  test('packed many times are not unpacked', async () => {
    serve('text/plain', 'x', { 'content-encoding': 'gzip, gzip, gzip, gzip' })
    expect((await fetched('/')).output).toContain('packed its answer 4 times')
  })

  test('of an unknown or broken kind are an error', async () => {
    serve('text/plain', 'x', { 'content-encoding': 'zip' })
    expect(await fetched('/')).toMatchObject({ isError: true, output: expect.stringContaining('encoding zip') })
    serve('text/plain', 'no gzip', { 'content-encoding': 'gzip' })
    expect(await fetched('/')).toMatchObject({ isError: true, output: expect.stringContaining('could not be fetched') })
  })
})

describe('redirects', () => {
  const redirect = (to: (n: number) => string) => {
    answer = (request, response) => {
      const n = Number(request.url!.slice(1))
      if (Number.isNaN(n)) return response.end('there')
      response.writeHead(302, { location: to(n) })
      response.end()
    }
  }

  test('are followed five times', async () => {
    redirect((n) => (n === 4 ? '/end' : `/${n + 1}`))
    expect((await fetched('/0')).output).toBe('there')
    expect(requests).toHaveLength(6)
    redirect((n) => `/${n + 1}`)
    expect(await fetched('/0')).toMatchObject({ isError: true, output: expect.stringContaining('more than 5 times') })
  })

  test('are judged anew, each of them', async () => {
    redirect((n) => (n === 0 ? '/1' : '/secret'))
    const decide = ({ pattern }: { pattern: string }) => ({
      action: pattern.includes('secret') ? ('deny' as const) : ('allow' as const),
      reason: '',
    })
    const result = await fetched('/0', {}, { decide })
    expect(result).toMatchObject({ isError: false, output: expect.stringContaining('needs a permission of its own') })
    expect(requests.map(({ url }) => url)).toEqual(['/0', '/1'])
    expect(world.asked.map(({ pattern }) => pattern)).toEqual([`${site}/0`, `${site}/1`, `${site}/secret`])
  })

  test('to another site need more than a yes to the first', async () => {
    redirect(() => `http://localhost:${port}/end`)
    const ask = () => ({ action: 'ask' as const, reason: '' })
    const answered = {
      id: 'ask-1' as never,
      kind: 'other' as const,
      title: '',
      detail: '',
      key: 'webfetch',
      pattern: `${site}/0`,
      answer: { decision: 'once' as const },
    }
    const options = { decide: ask, answered, fetchHosts: ['127.0.0.1', 'localhost'] }
    expect((await fetched('/0', {}, options)).output).toContain(`redirects to http://localhost:${port}/end`)
    redirect(() => '/end')
    expect((await fetched('/0', {}, options)).output).toBe('there')
  })

  test.each(['file:///etc/passwd', 'http://user:pw@127.0.0.1/', 'javascript:1'])('to %s go nowhere', async (target) => {
    redirect(() => target)
    expect(await fetched('/0')).toMatchObject({ isError: true, output: expect.stringContaining('cannot be fetched') })
  })

  test('from outside to this machine end there', async () => {
    redirect(() => `http://localhost:${port}/end`)
    const result = await fetched('/0')
    expect(result).toMatchObject({ isError: true, metadata: { code: 'private-address' } })
    expect(requests).toHaveLength(1)
  })
})

describe('this machine and its networks', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://0.0.0.0:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost.:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://①②⑦.0.0.1:PORT/',
    'http://127.0.0.1.:PORT/',
    'http://[::]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://[fe80::1]:PORT/',
    'http://[::7f00:1]:PORT/',
    'http://100.64.0.1:PORT/',
  ])('are not contacted: %s', async (address) => {
    serve('text/plain', 'secret')
    const result = await world.result('webfetch', { url: address.replace('PORT', String(port)), timeout: 5 })
    expect(result).toMatchObject({ isError: true })
    expect(result.metadata?.code).toMatch(/private-address|fetch-failed/)
    expect(result.output).not.toContain('secret')
    expect(requests).toHaveLength(0)
  })

  test('are where the configuration names them', async () => {
    serve('text/plain', 'ours')
    const at = (fetchHosts: string[]) => world.result('webfetch', { url: `${site}/` }, { fetchHosts })
    expect((await at([`127.0.0.1:${port}`])).output).toBe('ours')
    expect((await at(['127.0.*'])).output).toBe('ours')
    expect((await at(['127.0.0.1:1'])).output).toContain(`allowHosts: ["127.0.0.1:${port}"]`)
    expect(await at(['localhost'])).toMatchObject({ isError: true })
  })
})

describe('through a proxy', () => {
  const viaUs = (url: string, proxies: object = {}, options: CallOptions = {}) => {
    const http = `127.0.0.1:${port}`
    return world.result('webfetch', { url }, { fetchProxies: { http, https: http, ...proxies }, ...options })
  }

  test('http pages are asked of it by their whole address, with the login that it wants', async () => {
    serve('text/plain', 'from afar')
    const { output } = await viaUs('http://docs.example.test/a?b', { http: `http://me:p%40ss@127.0.0.1:${port}/` })
    expect(output).toBe('from afar')
    expect(requests[0]).toMatchObject({ method: 'GET', url: 'http://docs.example.test/a?b' })
    expect(requests[0]!.headers).toMatchObject({
      host: 'docs.example.test',
      'proxy-authorization': `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    })
  })

  test.each([
    [407, /refused the connection with status 407, because it wants a login/],
    [503, /refused the connection with status 503/],
  ])('https pages go through a tunnel; a refusal with %i says so', async (status, says) => {
    const asked: (string | undefined)[] = []
    server.once('connect', (request, socket) => {
      asked.push(request.url)
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`)
    })
    const result = await viaUs('https://docs.example.test/secret')
    expect(result).toMatchObject({ isError: true, metadata: { code: 'proxy-refused' } })
    expect(result.output).toMatch(says)
    expect(asked).toEqual(['docs.example.test:443'])
  })

  test.each([
    'http://127.0.0.1:PORT/',
    'http://localhost/',
    'http://[::ffff:10.0.0.1]/',
    'http://0xa9.0xfea9fe/',
    'http://017700000001/',
    'http://192.168.1.1./',
  ])('private networks are out of reach too: %s', async (address) => {
    serve('text/plain', 'secret')
    const result = await viaUs(address.replace('PORT', String(port)))
    expect(result).toMatchObject({ isError: true, metadata: { code: 'private-address' } })
    expect(requests).toHaveLength(0)
  })

  test.each(['example.test', '.example.test', '*.example.test', 'other, docs.example.test:80', '*'])(
    'hosts of NO_PROXY are reached directly: %s',
    async (except) => {
      serve('text/plain', 'from afar')
      const result = await viaUs('http://docs.example.test/', { except })
      expect(result).toMatchObject({ isError: true, metadata: { code: 'fetch-failed' } })
      expect(requests).toHaveLength(0)
    },
  )

  test('of an unknown kind says what the user can set, without its password', async () => {
    const { output } = await viaUs('http://docs.example.test/', { http: 'socks5://me:secret@10.0.0.1:1080' })
    expect(output).toContain('socks5://10.0.0.1:1080')
    expect(output).not.toContain('secret')
  })
})

describe('an address', () => {
  test.each(['example', 'ftp://example.com/', 'file:///etc/passwd', 'http://u:p@example.com/', 'http://'])(
    'like %s is refused before anybody is asked',
    async (url) => {
      const ask = () => ({ action: 'ask' as const, reason: '' })
      const result = await world.result('webfetch', { url }, { decide: ask })
      expect(result).toMatchObject({ isError: true, metadata: { code: 'bad-url' } })
    },
  )

  test('is put to the permissions as it will be sent', async () => {
    const outcome = await world.call(
      'webfetch',
      { url: 'HTTPS://Example.com/a/../b#c' },
      {
        decide: () => ({ action: 'ask', reason: '' }),
      },
    )
    expect(outcome).toMatchObject({
      type: 'ask',
      ask: { kind: 'other', key: 'webfetch', pattern: 'https://example.com/b' },
    })
  })
})

describe('a server', () => {
  test('that does not answer in time is given up', async () => {
    answer = () => {}
    expect(await fetched('/', { timeout: 1 })).toMatchObject({
      isError: true,
      output: expect.stringContaining('within 1 s'),
    })
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write('begin')
    }
    expect(await fetched('/', { timeout: 1 })).toMatchObject({ isError: true, metadata: { code: 'fetch-timed-out' } })
  })

  test('is left at once when the call is cancelled', async () => {
    const cancel = new AbortController()
    const closed = new Promise((resolve) => {
      answer = (request) => {
        request.once('close', resolve)
        cancel.abort(new DOMException('stop', 'AbortError'))
      }
    })
    expect(await fetched('/', {}, { signal: cancel.signal })).toMatchObject({ how: 'cancelled' })
    await closed
  })

  test('that hangs up or is not there is an error in words', async () => {
    answer = (request) => request.socket.destroy()
    expect(await fetched('/')).toMatchObject({ isError: true, output: expect.stringContaining('could not be fetched') })
    const result = await world.result('webfetch', { url: 'http://127.0.0.1:1/' }, { fetchHosts: ours })
    expect(result.output).toContain('ECONNREFUSED')
  })
})
