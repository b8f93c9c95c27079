import { describe, expect, test } from 'vitest'
import { convertHtml } from './convert-html.ts'

const base = new URL('https://example.com/docs/page')
const convert = (html: string, format: 'markdown' | 'text' = 'markdown') =>
  convertHtml(html, { base, format, signal: new AbortController().signal })

describe('HTML becomes Markdown', () => {
  test.each([
    [
      'headings and paragraphs',
      '<h1>A <em>b</em></h1><p>One\n two</p>three<h3>C</h3>',
      '# A _b_\n\nOne two\n\nthree\n\n### C',
    ],
    [
      'emphasis, empty and not',
      '<p><b>bold </b>x <i></i><code>a*b</code> <del>no</del></p>',
      '**bold** x `a*b` ~~no~~',
    ],
    [
      'links, relative to the page',
      '<a href="../x">X</a> <a href="#top">top</a> <a href="javascript:a()">js</a> <a href="/y"></a>',
      '[X](https://example.com/x) top js',
    ],
    [
      'images that say what they show',
      '<img src="/i.png" alt="a chart"><img src="/spacer.gif">',
      '![a chart](https://example.com/i.png)',
    ],
    ['line breaks', '<p>a<br>b<br/> c</p>', 'a\nb\nc'],
    [
      'nested lists',
      '<ul><li>one<ol start="3"><li>three<li>four</ol></li><li><p>two</p><p>more</p></li></ul><p>after</p>',
      '- one\n  3. three\n  4. four\n- two\n\n  more\n\nafter',
    ],
    ['quotations', '<blockquote><p>a</p><blockquote>b</blockquote></blockquote>c', '> a\n\n> > b\n\nc'],
    [
      'code with its language',
      '<pre><code class="hljs language-ts">if (a &lt; b) {\n  c()\n}\n</code></pre>',
      '```ts\nif (a < b) {\n  c()\n}\n```',
    ],
    ['code that holds a fence', '<pre>```\nx\n```</pre>', '````\n```\nx\n```\n````'],
    [
      'tables',
      '<table><caption>T</caption><thead><tr><th>a<th>b</thead><tr><td>1|2<td><p>x</p><p>y</p></table>z',
      '| T |  |\n| --- | --- |\n| a | b |\n| 1\\|2 | x y |\n\nz',
    ],
    [
      'tables within tables as text',
      '<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>',
      '| a b c | d |\n| --- | --- |',
    ],
    ['entities', '<p>&lt;&amp;&eacute;&#8364;&nbsp;&hellip;&notit;</p>', '<&é€\u00a0…¬it;'.replace('\u00a0', ' ')],
    [
      'nothing of scripts, styles, heads and hidden parts',
      '<head><title>t</title></head><style>a{}</style><script>if (a<b) "</p>"</script><p hidden>h</p><svg><text>s</text></svg>v',
      'v',
    ],
    ['unclosed elements', '<div><p>a<b>c</b><div>d', 'a**c**\n\nd'],
  ])('%s', async (_, html, expected) => {
    expect(await convert(html)).toBe(expected)
  })

  test('or text without marks', async () => {
    const html =
      '<h1>A</h1><p><b>b</b> <a href="/x">c</a></p><ul><li>d</ul><pre>e  f</pre><table><tr><td>1<td>2</table>'
    expect(await convert(html, 'text')).toBe('A\n\nb c\n\n- d\n\ne  f\n\n| 1 | 2 |\n| --- | --- |')
  })
})

describe('a hostile page', () => {
  test.each([
    ['very deep', `${'<div>'.repeat(300_000)}x`],
    ['of quotations in quotations', `${'<blockquote>'.repeat(900)}${'<p>x'.repeat(100_000)}`],
    ['of opened and never closed elements', `${'<b>'.repeat(400_000)}${'</i>'.repeat(400_000)}`],
    ['of one paragraph', `<p>${'<b>x</b>'.repeat(300_000)}`],
    ['of one huge table', `<table>${'<tr>'.repeat(200_000)}<tr>${'<td>x'.repeat(200_000)}</table>`],
    ['of blanks', `<pre>${' '.repeat(3_000_000)}x${' '.repeat(1_000_000)}</pre><p>${'\n '.repeat(500_000)}</p>`],
    ['of fences', `<pre>${'`'.repeat(2000)}</pre>`],
    ['of attributes', `<a ${'href=x '.repeat(300_000)}>y</a>`],
  ])(
    '%s ends',
    async (_, html) => {
      const text = await convert(html)
      expect(text.length).toBeLessThan(10 * html.length)
    },
    30_000,
  )
})
