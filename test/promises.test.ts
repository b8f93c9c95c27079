import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const rows = readFileSync(join(root, 'docs/supervision.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| **'))

test('every promise of docs/supervision.md names tests that exist', () => {
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.flatMap(missingTests)).toEqual([])
})

/** In the last cell: a file in back quotes, then titles in double quotes, or parts of them. */
function missingTests(row: string): string[] {
  const cell = row.split(' | ').at(-1) ?? ''
  const named = [...cell.matchAll(/`([^`]+\.test\.ts)`|"([^"]+)"/g)]
  let file = ''
  const missing = named.flatMap(([, path, title]) => {
    if (path !== undefined) file = path
    else if (!existsSync(join(root, file)) || !textOf(file).includes(title ?? '')) return [`${file}: ${title}`]
    return []
  })
  return named.some(([, , title]) => title !== undefined) ? missing : [`no test: ${row}`]
}

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
