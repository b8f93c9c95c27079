import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { replaceText } from './replace-text.ts'

function replaced(content: string, wanted: string, replacement: string, all = false): string | object {
  const outcome = replaceText({ content, wanted, replacement, all, exactOnly: false })
  return 'text' in outcome ? outcome.text : outcome
}

describe('what is written at a place that was found loosely', () => {
  test.each([
    [
      'takes the indentation of the file, four blanks deeper',
      'class K:\n    def m(self):\n            if c:\n                r = f()\n                return r\n',
      '        if c:\n            r = f()\n            return r',
      '        if c:\n            n = g()\n            return n',
      'class K:\n    def m(self):\n            if c:\n                n = g()\n                return n\n',
    ],
    [
      'takes tabs where the file has them',
      '\tif (a) {\n\t\tb();\n\t}\n',
      '    if (a) {\n        b();\n    }',
      '    if (a) {\n        c();\n        if (d) {\n            e();\n        }\n    }',
      '\tif (a) {\n\t\tc();\n\t\tif (d) {\n\t\t\te();\n\t\t}\n\t}\n',
    ],
    [
      'takes blanks where the file has them',
      'def f():\n    a()\n    b()\n',
      'def f():\n\ta()\n\tb()',
      'def f():\n\ta()\n\tif x:\n\t\tc()',
      'def f():\n    a()\n    if x:\n        c()\n',
    ],
    [
      'takes four blanks for two',
      'if (a) {\n    b()\n    c()\n}\n',
      'if (a) {\n  b()\n  c()\n}',
      'if (a) {\n  b()\n  while (d) {\n    e()\n  }\n}',
      'if (a) {\n    b()\n    while (d) {\n        e()\n    }\n}\n',
    ],
    [
      'finds its depth where the old text was flat',
      'fn() {\n  if (a) {\n    b()\n  }\n}\n',
      'fn() {\nif (a) {\nb()\n}\n}',
      'fn() {\nif (a) {\nc()\n}\n}',
      'fn() {\n  if (a) {\n    c()\n  }\n}\n',
    ],
    [
      'keeps a line that was meant to move',
      '        a()\n        b()\n',
      '    a()\n    b()',
      '    if x:\n        a()\n    b()',
      '        if x:\n            a()\n        b()\n',
    ],
    ['keeps trailing blanks of the file out', 'a = 1\nb = 2\n', 'a = 1  \nb = 2  ', 'a = 1\nb = 3', 'a = 1\nb = 3\n'],
    ['keeps the final line break', '  a\n  b\n', 'a\nb\n', 'a\nc\n', '  a\n  c\n'],
    ['keeps the final line break that the new text lacks', '  a\n  b\nz\n', 'a\nb\n', 'a\nc', '  a\n  c\nz\n'],
    ['adds no final line break', 'a\n  b', 'b ', 'c\n', 'a\n  c'],
    ['leaves no empty line where lines are taken away', 'a\n  b\nc\n', 'b  \n', '', 'a\nc\n'],
    ['keeps CRLF', 'a\r\n  b\r\n  c\r\nd\r\n', 'b\nc', 'B\nC', 'a\r\n  B\r\n  C\r\nd\r\n'],
    ['keeps dollar signs', '  a\n', 'a ', "$& $1 $$ $` $'", "  $& $1 $$ $` $'\n"],
    ['is part of a line', 'f(a, b) + g()\n', 'f(a,  b)', 'f(b,  a)', 'f(b,  a) + g()\n'],
    [
      'has the blanks of the place around it',
      'alpha beta\ngamma delta\n',
      ' beta\ngamma \n',
      ' BETA\ngamma \n',
      'alpha BETA\ngamma delta\n',
    ],
    [
      'is free of the escapes that the old text had',
      'say("hi")\n',
      'say(\\"hi\\")',
      'say(\\"a\\nb\\")',
      'say("a\\nb")\n',
    ],
    [
      'goes to the middle of a block found by its ends',
      'start\n  one thing\n  other thing\nend\n',
      'start\n  one thong\n  other thong\nend',
      'start\n  new\nend',
      'start\n  new\nend\n',
    ],
  ])('%s', (_, content, wanted, replacement, expected) => {
    expect(replaced(content, wanted, replacement)).toBe(expected)
  })

  test('goes to every place when all are meant', () => {
    expect(replaced('  a(1,  2)\n\ta(1, 2);\n', 'a(1,   2)', 'b()', true)).toBe('  b()\n\tb();\n')
  })
})

describe('whatever the file is indented with', () => {
  /** Depths of lines one below the other: a line is at most one deeper than the one before. */
  const depths = fc.array(fc.nat(2), { minLength: 4, maxLength: 12 }).map((steps) => {
    let depth = 0
    return steps.map((step, at) => (depth = at === 0 ? 0 : Math.max(0, Math.min(depth + 1, depth + 1 - step))))
  })
  const given = fc.record({
    depths,
    unit: fc.constantFrom('\t', '  ', '    '),
    other: fc.constantFrom('\t', '  ', '    ', '   '),
    end: fc.constantFrom('\n', '\r\n'),
    isEnded: fc.boolean(),
    from: fc.nat(20),
    height: fc.integer({ min: 2, max: 6 }),
    isShifted: fc.boolean(),
  })

  test('a block that was copied with other blanks is written with those of the file, and its line breaks', () => {
    fc.assert(
      fc.property(given, ({ depths, unit, other, end, isEnded, height, isShifted, ...given }) => {
        const from = given.from % (depths.length - 1)
        const to = Math.min(depths.length, from + height)
        const line = (n: number, sign: string, shift: number, name = `line ${n}`) =>
          sign.repeat(Math.max(0, depths[n]! - shift)) + name
        const file = (names: (n: number) => string[]) =>
          depths.flatMap((_, n) => names(n).map((name) => line(n, unit, 0, name))).join(end) + (isEnded ? end : '')
        const block = (names: (n: number) => string[]) => {
          const inside = depths.slice(from, to)
          const shift = isShifted ? Math.min(...inside) : 0
          return inside.flatMap((_, n) => names(from + n).map((name) => line(from + n, other, shift, name))).join('\n')
        }
        const before = (n: number) => [`line ${n}`]
        const after = (n: number) => (n === to - 1 ? ["changed $& $1 $'", `added ${n}`] : before(n))
        const [content, wanted, replacement] = [file(before), block(before), block(after)]
        const outcome = replaceText({ content, wanted, replacement, all: false, exactOnly: false })
        fc.pre('strategy' in outcome && outcome.strategy !== 'Simple')
        expect(outcome).toMatchObject({ text: file(after) })
      }),
      { numRuns: 500 },
    )
  })
})

describe('a loose match never takes more than was named', () => {
  test.each([
    ['an invented middle', 'f() {\n  if (a) {\n    one();\n  }\n  two();\n}\n', 'f() {\n  invented();\n}'],
    [
      'text stitched from far places',
      `.a {\n  o: 3px;\n}\n${'.b {}\n'.repeat(2000)}/* 27 */\n.z {}\n`,
      '  o: 3px;\n}\n\n/* 27 */',
    ],
    ['escaped line breaks', 'one\ntwo\nthree', 'one\\ntwo'],
  ])('%s', (_, content, wanted) => {
    expect(replaced(content, wanted, 'x')).toMatchObject({ problem: expect.any(String) })
  })

  const line = fc.constantFrom('', 'a', '  a', '\ta', 'b', '    b b', 'b  b', '}', '  }', 'c "c"', 'c \\"c\\"')
  const text = fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => lines.join('\n'))

  test('whatever the texts: nothing outside of the places changes, and each is as small as promised', () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (content, wanted, all) => {
        fc.pre(wanted !== '')
        const outcome = replaceText({ content, wanted, replacement: 'NEW', all, exactOnly: false })
        if (!('text' in outcome)) return
        const { spans, strategy } = outcome
        expect(spans.length > 1 && !all).toBe(false)
        const rest = spans.reduceRight((kept, { start, end }) => kept.slice(0, start) + kept.slice(end), content)
        expect(outcome.text.replaceAll('NEW', '').replace(/\s/g, '')).toBe(rest.replace(/\s/g, ''))
        if (strategy === 'Simple') return
        const most = wanted.replace(/\n$/, '').split('\n').length
        for (const { start, end } of spans) {
          expect(content.slice(start, end).split('\n').length).toBeLessThanOrEqual(most)
        }
      }),
    )
  })
})

describe('bounds', () => {
  const ofLength = (lines: number, make: (n: number) => string) =>
    Array.from({ length: lines }, (_, n) => make(n)).join('\n')

  test('two lines of 200,000 characters are not compared character by character', () => {
    const wide = 'xy'.repeat(100_000)
    expect(replaced(`begin\n${wide}\nend\n`, 'begin\nx\nend', 'z')).toEqual({ problem: 'not-found' })
    expect(replaced(`begin\n${wide}\nend\n`, `begin\n${'yx'.repeat(90_000)}z\nend`, 'z')).toEqual({
      problem: 'not-found',
    })
  }, 10_000)

  test.each([
    ['of different lines', (n: number) => `const value${n} = compute(${n}, "some text that goes on")`],
    ['of equal lines', () => 'begin'],
    ['of empty lines', () => ''],
  ])(
    '30 absent lines are not found in 5 MB %s',
    (_, make) => {
      const content = ofLength(5_000_000 / (make(1000).length + 1), make)
      const wanted = ['begin', ...Array.from({ length: 28 }, (_, n) => `absent line ${n}`), 'begin'].join('\n')
      expect(replaced(content, wanted, 'z')).toEqual({ problem: 'not-found' })
    },
    20_000,
  )

  test('a long text is not found in a file of its first and last lines', () => {
    const wanted = ['}', ...Array.from({ length: 5000 }, (_, n) => `line ${n}`), '}'].join('\n')
    expect(
      replaced(
        ofLength(200_000, () => '}'),
        wanted,
        'z',
      ),
    ).toEqual({ problem: 'not-found' })
  }, 20_000)
})
