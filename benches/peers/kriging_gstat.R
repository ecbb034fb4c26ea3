# gstat beside crate kriging: values, empirical variograms, fits, and time.
#   Rscript kriging_gstat.R table     what crates/kriging/tests/all/gstat.tsv holds
#   Rscript kriging_gstat.R time N    N points to 1000 x 1000 cells, 12 neighbours: rows of benches/results
# Debian: r-cran-gstat. The points are those of the test: Park and Miller's generator, exact in doubles.
suppressMessages({library(sp); library(gstat)})

numbers <- function(count, seed = 1) {
  found <- numeric(count)
  for (i in seq_len(count)) {
    seed <- (16807 * seed) %% 2147483647
    found[i] <- seed / 2147483647
  }
  found
}

points <- function(count, field = function(x, y) 10 * sin(x / 150) + 8 * cos(y / 200)) {
  all <- numbers(3 * count)
  x <- 1000 * all[seq(1, 3 * count, 3)]
  y <- 1000 * all[seq(2, 3 * count, 3)]
  z <- field(x, y) + 4 * all[seq(3, 3 * count, 3)]
  data.frame(x, y, z)
}

models <- list(
  "spherical:2,300+nugget:0.5" = vgm(2, "Sph", 300, 0.5),
  "exponential:70,120" = vgm(70, "Exp", 120),
  "gaussian:60,200+nugget:1" = vgm(60, "Gau", 200, 1),
  "spherical:20,150+exponential:40,400+nugget:2" = vgm(20, "Sph", 150, add.to = vgm(40, "Exp", 400, 2)),
  "spherical:50,400+nugget:1+anisotropy:30,0.5" = vgm(50, "Sph", 400, 1, anis = c(30, 0.5))
)

table_of_test <- function() {
  p <- points(300)
  targets <- data.frame(x = 1000 * numbers(20, 7), y = 1000 * numbers(20, 11))
  targets[20, ] <- p[5, c("x", "y")]
  coordinates(p) <- ~ x + y
  coordinates(targets) <- ~ x + y
  for (name in names(models)) for (nmax in c(1, 8, 12, 20, 50)) {
    k <- krige(z ~ 1, p, targets, models[[name]], nmax = nmax, debug.level = 0)
    for (i in seq_len(20))
      cat(sprintf("krige\t%s\t%d\t%d\t%.12g\t%.12g\n", name, nmax, i - 1, k$var1.pred[i], k$var1.var[i]))
  }
  k <- krige(z ~ 1, p, targets, models[[1]], nmax = 12, maxdist = 60, nmin = 3, debug.level = 0)
  for (i in seq_len(20))
    cat(sprintf("within\t%s\t12\t%d\t%.12g\t%.12g\n", names(models)[1], i - 1, k$var1.pred[i], k$var1.var[i]))
  k <- krige.cv(z ~ 1, p, models[[1]], nmax = 12, verbose = FALSE, debug.level = 0)
  for (i in seq_len(20))
    cat(sprintf("left out\t%s\t12\t%d\t%.12g\t%.12g\n", names(models)[1], i - 1, k$var1.pred[i], k$var1.var[i]))
  # A field that varies within the cutoff, so that fits end.
  p <- points(1000, function(x, y) 10 * sin(x / 50) * cos(y / 60))
  coordinates(p) <- ~ x + y
  v <- variogram(z ~ 1, p, cutoff = 450) # its own is 0.33333 of the diagonal
  for (i in seq_len(nrow(v)))
    cat(sprintf("lag\t-\t%d\t%d\t%.12g\t%.12g\n", v$np[i], i - 1, v$dist[i], v$gamma[i]))
  for (model in c("Sph", "Exp", "Gau")) {
    f <- fit.variogram(v, vgm(25, model, 60, 1))
    nugget <- f$psill[1]
    cat(sprintf("fit\t%s\t0\t0\t%.12g\t%.12g\n", model, nugget, f$psill[2]))
    cat(sprintf("fit\t%s\t0\t1\t%.12g\t%.12g\n", model, f$range[2], attr(f, "SSErr")))
  }
}

time_of <- function(count) {
  p <- points(count)
  coordinates(p) <- ~ x + y
  grid <- expand.grid(x = seq(0.5, 999.5), y = seq(0.5, 999.5))
  gridded(grid) <- ~ x + y
  seconds <- system.time(krige(z ~ 1, p, grid, models[[1]], nmax = 12, debug.level = 0))[["elapsed"]]
  ms <- sprintf("%.0f", 1000 * seconds)
  cat(paste("gstat", packageVersion("gstat")), "kriging_spherical_k12", format(count, scientific = FALSE), "1000000", ms, ms, ms, sep = "\t")
  cat("\n")
}

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) == 1 && arguments[1] == "table") {
  table_of_test()
} else if (length(arguments) == 2 && arguments[1] == "time") {
  time_of(as.integer(arguments[2]))
} else stop("kriging_gstat.R table | time N")
