// Streams of the npm package `openai`, all at once: PORT FOLDER-WITH-THE-PACKAGE COUNT TOKENS.
//
// Says `begun` when each has a part of its answer, and at the end what each has, as JSON.

import { createRequire } from 'node:module';

const [port, folder, count, tokens] = process.argv.slice(2);
const { default: OpenAI } = createRequire(`${folder}/`)('openai');
const baseURL = `http://127.0.0.1:${port}/v1`;
const client = new OpenAI({ baseURL, apiKey: 'x', maxRetries: 0, timeout: 120_000, fetch });
const waiting = new Set(Array(Number(count)).keys());

function begun(number) {
  if (waiting.delete(number) && waiting.size === 0) console.log('begun');
}

async function stream(number) {
  const got = { text: '', ids: [], finishes: [], usage: [], error: null };
  try {
    const events = await client.chat.completions.create({
      model: 'sim',
      stream: true,
      max_tokens: Number(tokens),
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: `user ${number}` }],
    });
    for await (const event of events) {
      if (event.usage) got.usage.push(event.usage.completion_tokens);
      const [choice] = event.choices;
      if (choice === undefined) continue; // that of the usage
      got.text += choice.delta.content ?? '';
      got.ids = [...new Set([...got.ids, event.id])];
      if (choice.finish_reason) got.finishes.push(choice.finish_reason);
      if (got.text.length > 10) begun(number);
    }
  } catch (error) {
    got.error = `${error.constructor.name}: ${error.message}`;
  }
  return got;
}

console.log(JSON.stringify(await Promise.all([...waiting].map(stream))));
