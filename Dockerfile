# Two images: `processor` (the last stage, so the default) and `mock-llm`, which only docker-compose.yml uses.
#
#   docker build --tag envoy-coalescer .

FROM node:24-trixie-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --ignore-scripts

FROM packages AS build
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM packages AS build-tools
COPY tsconfig.json tsconfig.tools.json ./
COPY src src
COPY harness harness
COPY demo demo
COPY bench bench
RUN node_modules/.bin/tsc -p tsconfig.tools.json

FROM gcr.io/distroless/nodejs24-debian13:nonroot AS mock-llm
WORKDIR /app
COPY --from=build-tools /app/package.json package.json
COPY --from=build-tools /app/.build .build
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/nodejs/bin/node", ".build/demo/mock-llm.js"]

FROM gcr.io/distroless/nodejs24-debian13:nonroot AS processor
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build /app/package.json package.json
COPY LICENSE LICENSE
COPY proto proto
COPY deploy/docker/healthcheck.mjs healthcheck.mjs
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# Nothing is written: the root may be read-only. No shell, so every command is a list.
USER 65532:65532
EXPOSE 9002 9003
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["/nodejs/bin/node", "healthcheck.mjs"]
ENTRYPOINT ["/nodejs/bin/node", "dist/main.js"]
CMD ["serve"]
