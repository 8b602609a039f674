#!/usr/bin/env node
// Sends a notification to one user and prints its path, with the library in Clients/node.
//
//   SEALPOST_TOKEN=spt_… examples/publish.mjs https://push.example.com alice "Your test result is in."
//
// The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send

import {Client, user} from '../Clients/node/src/index.js';

const [server, name, payload] = process.argv.slice(2);
try {
  if (payload === undefined) throw new TypeError('usage: publish.mjs SERVER USER TEXT');
  const client = new Client({server, token: process.env.SEALPOST_TOKEN ?? ''});
  const {id} = await client.send({to: user(name), payload});
  console.log(`/api/notifications/${id}`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
