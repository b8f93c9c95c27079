import { describe, expect, test } from 'vitest'
import type { SessionId } from '../core/ids.ts'
import { createLocks } from './locks.ts'

const owner = (name: string, epoch = 1) => ({ session: name as SessionId, epoch })

/** What has been decided of a promise by now. */
async function stateOf(promise: Promise<void>): Promise<string> {
  return Promise.race([
    promise.then(
      () => 'held',
      (error: { code: string }) => error.code,
    ),
    new Promise<string>((resolve) => setImmediate(resolve, 'waiting')),
  ])
}

describe('a lock', () => {
  test('is held by one owner, and passed on in the order in which they asked', async () => {
    const locks = createLocks()
    const [a, b, c] = [owner('a'), owner('b'), owner('c')]
    const lines = [locks.acquire('/f', a), locks.acquire('/f', b), locks.acquire('/f', c)]
    expect(await Promise.all(lines.map(stateOf))).toEqual(['held', 'waiting', 'waiting'])
    locks.release('/f', a)
    expect(await Promise.all(lines.map(stateOf))).toEqual(['held', 'held', 'waiting'])
    locks.release('/f', b)
    expect(await stateOf(lines[2]!)).toBe('held')
    locks.release('/f', c)
    expect(locks.size).toBe(0)
  })

  test('of another path is another lock', async () => {
    const locks = createLocks()
    const lines = [locks.acquire('/f', owner('a')), locks.acquire('/g', owner('b'))]
    expect(await Promise.all(lines.map(stateOf))).toEqual(['held', 'held'])
  })

  test('does not let its own session in twice', async () => {
    const locks = createLocks()
    await locks.acquire('/f', owner('a'))
    expect(await stateOf(locks.acquire('/f', owner('a')))).toBe('waiting')
  })

  test('cannot be released by another session or an older epoch', async () => {
    const locks = createLocks()
    await locks.acquire('/f', owner('a', 2))
    const waiting = locks.acquire('/f', owner('b'))
    locks.release('/f', owner('c'))
    locks.release('/f', owner('a', 1))
    locks.releaseAll(owner('a', 1))
    expect(await stateOf(waiting)).toBe('waiting')
  })

  test('is no longer waited for by one who gave up', async () => {
    const locks = createLocks()
    await locks.acquire('/f', owner('a'))
    const [b, c] = [locks.acquire('/f', owner('b')), locks.acquire('/f', owner('c'))]
    locks.release('/f', owner('b'))
    expect(await stateOf(b)).toBe('fenced')
    locks.release('/f', owner('a'))
    expect(await stateOf(c)).toBe('held')
  })

  test('and all others of an epoch are given back together, its waiting ends', async () => {
    const locks = createLocks()
    await locks.acquire('/f', owner('a'))
    await locks.acquire('/g', owner('a'))
    await locks.acquire('/h', owner('b'))
    const [waitsForF, waitsForH] = [locks.acquire('/f', owner('b')), locks.acquire('/h', owner('a'))]
    locks.releaseAll(owner('a'))
    expect(await stateOf(waitsForF)).toBe('held')
    expect(await stateOf(waitsForH)).toBe('fenced')
    locks.releaseAll(owner('b'))
    expect(locks.size).toBe(0)
  })
})
