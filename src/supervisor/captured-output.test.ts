import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { createCapturedOutput } from './captured-output.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-capture-'))
const spillPath = join(folder, 'made', 'when-needed.txt')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function capture(chunks: Uint8Array[], keepBytes: number, maxSpillBytes = 1_000_000) {
  const output = createCapturedOutput({ keepBytes, spillPath, maxSpillBytes })
  // The same memory each time, as the reader of a pipe does it.
  const shared = Buffer.alloc(100_000)
  for (const chunk of chunks) {
    shared.set(chunk)
    output.write(shared.subarray(0, chunk.length))
    shared.fill(0)
  }
  return output.finish()
}

const cut = (bytes: Buffer, sizes: number[]): Buffer[] =>
  sizes.reduceRight<Buffer[]>(
    (parts, size) => {
      const [first = Buffer.alloc(0), ...rest] = parts
      return [first.subarray(0, size), first.subarray(size), ...rest]
    },
    [bytes],
  )

describe('captured output', () => {
  test('is head and tail of the whole, however it arrives, and the file has all of it', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 20 })
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        sizes,
        fc.integer({ min: 4, max: 60 }),
        (text, sizes, keep) => {
          const bytes = Buffer.from(text)
          const { head, tail, totalBytes, droppedBytes, spilled } = capture(cut(bytes, sizes), keep)
          expect(totalBytes).toBe(bytes.length)
          expect(droppedBytes + Buffer.byteLength(head) + Buffer.byteLength(tail)).toBe(totalBytes)
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true)
          expect(droppedBytes > 0).toBe(bytes.length > 2 * keep)
          expect(spilled?.bytes).toBe(bytes.length > 2 * keep ? bytes.length : undefined)
          if (spilled) expect(readFileSync(spillPath).equals(bytes)).toBe(true)
          // A character has four bytes at most: the cuts lose no more than three at each end.
          if (droppedBytes > 0) expect(totalBytes - droppedBytes).toBeGreaterThanOrEqual(2 * keep - 6)
        },
      ),
    )
  })

  test('that is no UTF-8 becomes valid text', () => {
    const bytes = Buffer.from([0x61, 0xff, 0xc3, 0x28, 0x80, 0x80, 0x80, 0x80, 0xf0, 0x9f])
    for (const keep of [1, 2, 3, 4, 5, 10]) {
      const { head, tail } = capture([bytes], keep)
      expect(isWellFormed(head + tail)).toBe(true)
      expect(head.startsWith('a')).toBe(true)
    }
  })

  test('longer than the file may be fills the file to its limit and keeps its tail', () => {
    const bytes = Buffer.from(Array.from({ length: 3000 }, (_, i) => `${i}\n`).join(''))
    const { tail, spilled } = capture([bytes.subarray(0, 5000), bytes.subarray(5000)], 100, 7000)
    expect(spilled).toEqual({ path: spillPath, bytes: 7000 })
    expect(readFileSync(spillPath).equals(bytes.subarray(0, 7000))).toBe(true)
    expect(tail).toBe(bytes.subarray(-100).toString())
  })
})

function isWellFormed(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text
}
